sactag --version
sactag -V
sactag plan --version
sactag tag -V
# what stands before it is not looked at further
sactag strip -q --version
