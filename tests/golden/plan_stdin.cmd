sactag plan - < cases/toy/model_train.onnx
cat cases/toy/model_train.onnx | sactag plan - --format tsv
cat cases/toy/model_train.onnx | sactag plan - --format json | grep '"name"'
