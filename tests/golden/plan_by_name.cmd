# The name of the output chooses the format, where none is asked for.
toy=cases/toy/model_train.onnx
sactag plan $toy -o a.json
sactag plan $toy --format json -o b.txt
cmp a.json b.txt
sactag plan $toy --format json | cmp - a.json
sactag plan $toy -o a.tsv
sactag plan $toy --format tsv | cmp - a.tsv
sactag plan $toy --format text -o c.json
sactag plan $toy | cmp - c.json
sactag linears $toy -o l.json
sactag linears $toy --format json | cmp - l.json
sactag plan $toy --merge -o merged.json
sactag plan $toy --merge | cmp - merged.json
sactag plan $toy -o .json
sactag plan $toy | cmp - .json
