for option in "--threads 0" "--threads 2x" "--repeat -1" "--random 99999999999999999999" \
              "--optimize 4" "--format csv" "--dim batch" "--dim =3" "--dim batch=-2" \
              "--dim batch=99999999999999999999" "--dim batch=2.5" "--input x.npy" \
              "--dim batch=1 --dim batch=2"; do
    "$SARDONYX" run linear.onnx $option
    echo "$option: $?"
done
"$SARDONYX" test cases --rtol -1
echo $?
"$SARDONYX" test cases --atol nan
echo $?
"$SARDONYX" inspect linear.onnx --stage run
echo $?
