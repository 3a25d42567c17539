sactag help diff
