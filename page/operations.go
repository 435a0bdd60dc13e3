package page

func (p *Pages) routeOperations() {}
