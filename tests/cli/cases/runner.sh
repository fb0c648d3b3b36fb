# A session by hand: the model twice, an input, runs, results; and what is refused.
printf '\0\0\200?\0\0\0@\0\0@@' > x.bin # 1 2 3
printf 'load\tlinear.onnx\t1\theap=1\tshapes=1,3,float32
input\ta\tx\tfloat32\t1,3\tx.bin
load\tlinear.onnx\t1\toptimize=0
run\ta\t2
output\tout
memory
load\tlinear.onnx\t1\tspeed=9
load\tmissing.onnx\t1
run\tb\t1
input\ta\tz\tfloat32\t1,3\tx.bin
dance
quit
' | "$SARDONYX" runner
"$PYTHON" -c 'import numpy; print(numpy.load("out/0.npy"))'
"$SARDONYX" runner now
