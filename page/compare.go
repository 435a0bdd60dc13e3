package page

func (p *Pages) routeCompare() {}
