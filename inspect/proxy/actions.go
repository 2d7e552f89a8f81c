package proxy

import (
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// actionOf returns what a call is for, in the words of an agent's plan; no verb where it is for nothing of that.
func actionOf(method string, req proto.Message, of subject) trace.Action {
	named := func(v trace.Verb) trace.Action {
		return trace.Action{ID: string(v) + " " + of.container, Verb: v, Container: of.container, Target: of.id}
	}
	switch method {
	case "RunPodSandbox":
		return trace.Action{ID: string(trace.VerbSandbox), Verb: trace.VerbSandbox}
	case "PullImage":
		r, ok := req.(*runtimeapi.PullImageRequest)
		if !ok {
			return trace.Action{}
		}
		image := r.GetImage().GetImage()
		return trace.Action{ID: string(trace.VerbImage) + " " + image, Verb: trace.VerbImage, Target: image}
	case "CreateContainer":
		return named(trace.VerbCreate)
	case "StartContainer":
		return named(trace.VerbStart)
	case "StopContainer":
		return named(trace.VerbKill)
	case "RemoveContainer":
		return named(trace.VerbRemove)
	case "StopPodSandbox":
		return trace.Action{ID: string(trace.VerbStopSandbox), Verb: trace.VerbStopSandbox, Target: of.sandbox}
	case "RemovePodSandbox":
		return trace.Action{ID: string(trace.VerbRemoveSandbox), Verb: trace.VerbRemoveSandbox, Target: of.sandbox}
	}
	return trace.Action{}
}

// idOf returns the id of what a call made.
func idOf(reply proto.Message) string {
	switch r := reply.(type) {
	case *runtimeapi.RunPodSandboxResponse:
		return r.GetPodSandboxId()
	case *runtimeapi.CreateContainerResponse:
		return r.GetContainerId()
	}
	return ""
}

// message is an error's text, without gRPC's own words.
func message(err error) string { return status.Convert(err).Message() }

func classify(v trace.Verb, err string) trace.FailureClass {
	if v == trace.VerbImage {
		return trace.ClassifyPull(err)
	}
	return trace.Classify(err)
}
