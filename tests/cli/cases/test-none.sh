"$SARDONYX" test cases/none
echo $?
"$SARDONYX" test cases --filter absent
echo $?
"$SARDONYX" test absent
echo $?
"$SARDONYX" test x.npy
