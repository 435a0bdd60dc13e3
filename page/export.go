package page

func (p *Pages) routeExport() {}
