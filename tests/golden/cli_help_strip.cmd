sactag help strip
