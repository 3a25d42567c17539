sactag help show
