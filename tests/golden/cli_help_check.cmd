sactag help check
