package page

func (p *Pages) routeStrategies() {}
