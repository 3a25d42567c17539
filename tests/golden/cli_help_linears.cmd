sactag help linears
