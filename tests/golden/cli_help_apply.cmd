sactag help apply
