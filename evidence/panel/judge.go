package panel

import (
	"cmp"

	"github.com/ktrdr/ktrdr/num"
)

// Options are those of a judgement; a field that is 0 means its default.
type Options struct {
	Draws  int     // resamples; 0 means 1,000
	Block  float64 // mean length of a block in days; 0 means BlockLength
	Blocks int     // of CSCV; 0 means 16
	Seed   uint64  // of the resamples
}

// Judgement is what a panel says of the whole search.
type Judgement struct {
	Trials    int      `json:"trials"` // in the panel
	Days      int      `json:"days"`
	Block     float64  `json:"block_days"` // mean length of a block of the bootstrap
	Draws     int      `json:"draws"`
	SPA       SPA      `json:"spa"`
	StepM     StepM    `json:"stepm"`
	PBO       PBO      `json:"pbo"`
	Effective *float64 `json:"effective_trials"`
}

// Judge makes every test. The same panel and settings give the same bits.
func Judge(p *Panel, s Options) Judgement {
	j := Judgement{Trials: len(p.Returns), Days: len(p.Days), Draws: cmp.Or(s.Draws, 1000), Block: s.Block}
	var resamples []Resample
	if len(p.Days) >= FewestDays {
		j.Block = cmp.Or(j.Block, BlockLength(p))
		resamples = Resamples(len(p.Days), j.Draws, j.Block, num.NewRand(s.Seed))
	}
	j.SPA, j.StepM = Test(p, resamples, j.Block)
	j.PBO = Overfitting(p, cmp.Or(s.Blocks, DefaultBlocks))
	j.Effective = EffectiveTrials(p)
	return j
}
