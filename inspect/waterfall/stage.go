package waterfall

import "github.com/kubeloupe/kubeloupe/trace"

// Stage is what part of a start something belongs to, so that each drawing can give it the same color.
type Stage string

// The stages; the preparation by the agent itself has none.
const (
	StageNone    Stage = ""
	StageVolumes Stage = "volumes"
	StageSandbox Stage = "sandbox"
	StageNetwork Stage = "network"
	StageImage   Stage = "image"
	StageCreate  Stage = "create" // create, start and stop containers
	StageProbe   Stage = "probe"
	StageStatus  Stage = "status"
	StageWait    Stage = "wait"
)

// VerbStage returns the stage of a plan's action.
func VerbStage(verb trace.Verb) Stage {
	switch verb {
	case trace.VerbVolumes, trace.VerbUnmount:
		return StageVolumes
	case trace.VerbSandbox, trace.VerbStopSandbox, trace.VerbRemoveSandbox:
		return StageSandbox
	case trace.VerbImage:
		return StageImage
	case trace.VerbCreate, trace.VerbStart, trace.VerbPostStart, trace.VerbPreStop, trace.VerbKill, trace.VerbRemove, trace.VerbResize:
		return StageCreate
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbResizePod, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
	}
	return StageNone
}

// callStages are the stages of the calls to the container runtime that change the node.
var callStages = map[string]Stage{
	"RunPodSandbox": StageSandbox, "StopPodSandbox": StageSandbox, "RemovePodSandbox": StageSandbox,
	"PullImage": StageImage, "ImageStatus": StageImage, "RemoveImage": StageImage,
	"CreateContainer": StageCreate, "StartContainer": StageCreate, "StopContainer": StageCreate, "RemoveContainer": StageCreate,
	"UpdateContainerResources": StageCreate, "ExecSync": StageProbe,
}

// CallStage returns the stage of a call to the container runtime, by its method.
func CallStage(method string) Stage { return callStages[method] }

// Stage returns the part's stage.
func (p Part) Stage() Stage {
	switch {
	case p.Kind == SegmentWait:
		return StageWait
	case p.Probe != "":
		return StageProbe
	}
	return VerbStage(p.Verb)
}

// stage is the stage of a group's rows, unless they have one of their own.
func (g *group) stage() Stage {
	switch g.rank {
	case rankProbe:
		return StageProbe
	case rankStatus:
		return StageStatus
	}
	return VerbStage(g.rows[0].Verb)
}

// stageIn returns the stage of a row in a group of the given stage.
func (r *Row) stageIn(of Stage) Stage {
	switch {
	case r.Kind == RowWait:
		return StageWait
	case r.Topic == TopicCNI, r.Topic == TopicNamespace:
		return StageNetwork
	case r.Topic == TopicFetch, r.Topic == TopicUnpack, r.Topic == TopicRegistry:
		return StageImage
	}
	return of
}
