# Branches start alike, iterations count on; the condition of a while_loop runs once more than its body. Expected rows are POLICY.md's.
for name in branches mapped repeated scanned; do
    echo "$name"
    sactag plan models/pt2/$name.pt2 --format tsv -q | sed 1d | cut -f 2,3,8,11,12
    sactag plan models/pt2/$name.pt2 -o plan.json -q
    sactag tag models/pt2/$name.pt2 -o tagged.pt2
    sactag check tagged.pt2
    sactag diff tagged.pt2 plan.json
    sactag apply models/pt2/$name.pt2 plan.json -o applied.pt2 -q
    cmp tagged.pt2 applied.pt2
    sactag strip tagged.pt2 -o - | cmp - models/pt2/$name.pt2
    sactag tag models/pt2/$name.pt2 -o all.pt2 --tag all -q
    sactag check all.pt2 -q
    sactag strip all.pt2 -o - | cmp - models/pt2/$name.pt2
done
sactag show tagged.pt2 --format tsv | cut -f 2,3,6,7,11 | head -n 5
for name in map uneven while scanned_dynamic; do
    sactag plan models/pt2/$name.pt2 --format tsv -q | sed 1d | cut -f 2,3,8,11,12
    sactag tag models/pt2/$name.pt2 -o no.pt2 || echo "exit $?"
done
sactag plan models/pt2/uneven.pt2 --blocks 'layers.*.*' --format tsv | sed 1d | cut -f 2,3,6,11,12
