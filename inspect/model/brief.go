package model

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// Brief says in a few words what an event is about, without its kind.
func Brief(e trace.Event) string {
	switch e := e.(type) {
	case *trace.Agent:
		return words(e.State, e.Reason)
	case *trace.Source:
		return words(e.Source, e.Op, e.Path)
	case *trace.SourceError:
		return SourceErrorText(e)
	case *trace.Loop:
		return words(e.Case, e.Op, e.Detail)
	case *trace.Log:
		return e.Message
	case *trace.Pressure:
		return e.Signal
	case *trace.Decision:
		return words(decided(e)+":", e.Reason)
	case *trace.GC:
		return words(e.What, e.Cause)
	case *trace.NodeEvent:
		return words(e.Reason+":", nodeEventText(e))
	case *trace.Milestone:
		return e.Name
	case *trace.Worker:
		return e.From + " → " + e.To
	case *trace.Sync:
		return words(e.Why, e.Cause)
	case *trace.Plan:
		return fmt.Sprintf("%d steps", len(e.Steps))
	case *trace.Action:
		return e.ID
	case *trace.Wait:
		return words(string(e.For), say.On(e))
	case *trace.Gate:
		return words(e.Action, e.Verdict)
	case *trace.PodStatus:
		return fmt.Sprintf("%s %d/%d", e.Phase, e.Ready, e.Total)
	case *trace.CRICall:
		return words(e.Method, cmp.Or(e.Image, e.Container, e.Sandbox))
	case *trace.APICall:
		return words(e.Verb, e.Resource, strings.Trim(e.Namespace+"/"+e.Name, "/"))
	case *trace.NodeStatus:
		return words(e.Op, strings.Join(e.Changed, ", "))
	case *trace.PLEGRelist:
		return e.Cause
	case *trace.PLEGEvent:
		what := cmp.Or(e.Name, e.Container, e.Sandbox)
		if e.Type == "ContainerDied" { // also one that did what it was to do
			return words("container", what, "ended")
		}
		return words(e.Type, what)
	case *trace.PLEGMode:
		return words(e.Mode, e.Reason)
	case *trace.ImagePull:
		return e.Image
	case *trace.ImageProgress:
		return e.Image
	case *trace.Volume:
		return words(e.Op, e.Name)
	case *trace.CgroupOp:
		return words(e.Op, e.Path)
	case *trace.StatusPatch:
		return words(e.Op, strings.Join(e.Changed, ", "))
	case *trace.CSICall:
		return words(e.Method, e.Driver, e.Volume)
	case *trace.VolumeProgress:
		return fmt.Sprintf("%s %d files", e.Op, e.Files)
	case *trace.ServerRequest:
		return words(e.Method, e.Path, e.User)
	case *trace.RuntimeSpan:
		return words(e.Service, e.Name)
	case *trace.Usage:
		return fmt.Sprintf("cpu %s in %s, memory %s", human.Duration(e.CPU), human.Duration(e.Interval), human.Bytes(e.RSS))
	case *trace.ProbeAttempt:
		return words(e.Probe, e.Container, e.Result)
	}
	return briefNode(e)
}

// decided is a verdict with its subject, as "remove web" and "web will not be restarted".
func decided(e *trace.Decision) string {
	if e.By == "restart" && e.Verdict == "leave" {
		return e.Subject + " will not be restarted"
	}
	return e.Verdict + " " + e.Subject
}

// words joins what is not empty with spaces.
func words(parts ...string) string {
	out := parts[:0]
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}
