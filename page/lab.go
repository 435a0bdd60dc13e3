package page

func (p *Pages) routeLab() {}
