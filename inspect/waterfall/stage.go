package waterfall

import (
	"cmp"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/hue"
)

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

// stageHues are the colors of the stages.
var stageHues = map[Stage]hue.Hue{
	StageVolumes: hue.Volumes, StageSandbox: hue.Sandbox, StageNetwork: hue.Network, StageImage: hue.Image, StageCreate: hue.Create,
	StageProbe: hue.Probe, StageStatus: hue.Status, StageWait: hue.Wait,
}

// Hue returns the color of what belongs to a stage; the zero value for none.
func (s Stage) Hue() hue.Hue { return stageHues[s] }

// Stages returns the stages in the order of a start.
func Stages() []Stage {
	return []Stage{StageVolumes, StageSandbox, StageNetwork, StageImage, StageCreate, StageProbe, StageStatus, StageWait}
}

// Name returns what legends call a stage.
func (s Stage) Name() string {
	if s == StageCreate {
		return "create, start"
	}
	return string(s)
}

// EventStage returns the stage of what a record is about.
func EventStage(e trace.Event) Stage {
	switch e := e.(type) {
	case *trace.Action:
		return VerbStage(e.Verb)
	case *trace.CRICall:
		return CallStage(e.Method)
	case *trace.ImagePull, *trace.ImageProgress:
		return StageImage
	case *trace.Volume, *trace.VolumeProgress, *trace.CSICall:
		return StageVolumes
	case *trace.ProbeAttempt:
		return StageProbe
	case *trace.StatusPatch:
		return StageStatus
	case *trace.Wait:
		return StageWait
	case *trace.RuntimeSpan:
		return topicOf(e).stage()
	}
	return StageNone
}

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
	case trace.VerbCgroup, trace.VerbDirs, trace.VerbClaims, trace.VerbReleaseClaims, trace.VerbResizePod, trace.VerbRemoveCgroup, trace.VerbRemoveDirs:
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

// reasonStages are the stages of the reasons of the kubelet's Kubernetes Events.
var reasonStages = map[string]Stage{
	"Pulling": StageImage, "Pulled": StageImage, "ErrImageNeverPull": StageImage, "InspectFailed": StageImage,
	"Created": StageCreate, "Started": StageCreate, "Killing": StageCreate,
	"FailedPostStartHook": StageCreate, "FailedPreStopHook": StageCreate,
	"SandboxChanged": StageSandbox, "FailedCreatePodSandBox": StageSandbox, "FailedKillPod": StageSandbox,
	"NetworkNotReady": StageNetwork, "DNSConfigForming": StageNetwork,
	"FailedMount": StageVolumes, "FailedMapVolume": StageVolumes,
	"Unhealthy": StageProbe, "ProbeWarning": StageProbe,
	"BackOff": StageWait,
}

// ReasonStage returns the stage of a Kubernetes Event of the kubelet, by its reason.
func ReasonStage(reason string) Stage { return reasonStages[reason] }

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
	if r.Kind == RowWait {
		return StageWait
	}
	return cmp.Or(r.Topic.stage(), of)
}

// stage returns the stage of a topic that is not only that of the call around it.
func (t Topic) stage() Stage {
	switch t {
	case TopicCNI, TopicNamespace:
		return StageNetwork
	case TopicFetch, TopicUnpack, TopicRegistry:
		return StageImage
	case TopicTask, TopicShim:
	}
	return StageNone
}
