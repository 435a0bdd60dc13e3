package page

func (p *Pages) routeData() {}
