package api

import "slices"

// HeaderAssistant says that an AI assistant makes the request. An assistant never
// sees a holdout: it may call the routes that AdmitsAssistants names, and their
// answers have the rung and the adjusted p-value of a look and no other figure of it.
const HeaderAssistant = "Ktrdr-Assistant"

// Assistant says what an assistant may see of holdouts; empty: a person or a program
// makes the request.
type Assistant string

// The values of the header.
const (
	AssistantSealed Assistant = "sealed" // nothing
	// AssistantOpens may ask for a holdout, because a person allowed it. Each holdout
	// that it reads is counted as a look.
	AssistantOpens Assistant = "open-holdout"
)

// Assistants lists the values.
var Assistants = []Assistant{AssistantSealed, AssistantOpens}

// forAssistants are the routes that assistants may call. Routes of blobs, files,
// checkpoints and events are not among them: they tell what was read and written.
var forAssistants = []string{
	ListOperations.Pattern(), GetOperation.Pattern(), Children.Pattern(), GetResults.Pattern(), GetInputs.Pattern(),
	Cancel.Pattern(), Resume.Pattern(), Paused.Pattern(),
	StartTraining.Pattern(), StartBacktest.Pattern(), StartDataLoad.Pattern(), PutBlob.Pattern(),
	Models.Pattern(), Strategies.Pattern(), AddStrategy.Pattern(), ValidateStrategy.Pattern(), Indicators.Pattern(),
	Series.Pattern(), SeriesBars.Pattern(), CheckSeries.Pattern(),
	Trigger.Pattern(), ResearchStatus.Pattern(), CancelResearch.Pattern(), Budget.Pattern(),
	Designs.Pattern(), SubmitDesign.Pattern(),
	Memory.Pattern(), Experiment.Pattern(), Conversation.Pattern(), Leaderboard.Pattern(), Report.Pattern(), Search.Pattern(),
	Panel.Pattern(), Compare.Pattern(), Runs.Pattern(), Run.Pattern(), CancelRun.Pattern(), Looks.Pattern(),
	CheckpointHistory.Pattern(), Breakers.Pattern(), Degradation.Pattern(), Health.Pattern(),
}

// AdmitsAssistants says whether an assistant may call the route.
func (sp *Spec) AdmitsAssistants() bool { return slices.Contains(forAssistants, sp.Pattern()) }
