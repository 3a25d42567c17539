sactag help plan
