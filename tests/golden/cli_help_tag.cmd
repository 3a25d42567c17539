sactag help tag
