package page

func (p *Pages) routeStart() {}
