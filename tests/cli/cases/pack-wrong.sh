# What pack refuses; the old file stays.
echo old > old.sdx
say() { echo "\$ $*"; "$SARDONYX" "$@"; echo "exit $?"; }
say pack
say pack linear.onnx
say pack linear.onnx branches.onnx -o a.sdx
say pack linear.onnx -o linear.onnx
say pack linear.onnx -o a.sdx --isa avx2,
say pack linear.onnx -o old.sdx --isa abacus
say pack linear.onnx -o a.sdx --isa scalar,scalar
say pack linear.onnx -o a.sdx --f16 --plain
say pack linear.onnx -o a.sdx --metadata nothing
say pack linear.onnx -o a.sdx --labels absent.txt
say pack linear.onnx -o absent/a.sdx
mkfifo pipe
say pack linear.onnx -o pipe
say pack linear.onnx -o .
[[ -p pipe ]] || echo 'the pipe is gone'
say pack linear.onnx -o a.sdx --preset 'torchvision resize=0'
say pack linear.onnx -o a.sdx --preset absent
say pack unsupported.onnx -o old.sdx
say pack cut.onnx -o old.sdx
say pack linear.onnx -o a.sdx --dim nobody=3
cat old.sdx
ls *.sdx*
