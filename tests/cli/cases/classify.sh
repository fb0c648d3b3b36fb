printf 'P6 2 2 255\n\377\0\0\377\0\0\377\0\0\377\0\0' > red.ppm
printf 'P3 1 1 10\n0 5 10\n' > blue.ppm
# Preset and names come with the model; two images are one run.
"$SARDONYX" classify colours.onnx red.ppm blue.ppm
"$SARDONYX" classify colours.onnx red.ppm --top 1 --labels none
printf 'rouge\r\nvert\r\nbleu' > french.txt
"$SARDONYX" classify colours.onnx blue.ppm --top 2 --labels french.txt --batch 1 --threads 1
# Every part of the preset as an option.
"$SARDONYX" classify plain-colours.onnx red.ppm --preset raw --resize 3 --crop 2x3 --scale 1/51 \
    --interpolation bicubic --mean 1,2,3 --std 2 --channels bgr --layout nchw --softmax off \
    --save-input bgr.npy
"$PYTHON" -c 'import numpy as np; a = np.load("bgr.npy"); print(a.shape, a[0, :, 0, 0])'
"$SARDONYX" classify --preset list
