package cri

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Foreign describes calls of another program for people, by the rules for this agent's own calls. It does not know
// which values came from Secrets. So it redacts all values of environment variables, wherever they occur in texts about
// the pod, unless they are among the pod's names and labels. Safe for concurrent use.
type Foreign struct{ secrets *redact.Vault }

// NewForeign returns a Foreign without pods.
func NewForeign() *Foreign { return &Foreign{secrets: redact.NewVault()} }

// Scrubber is for the bus on which the calls are published.
func (f *Foreign) Scrubber() trace.Scrubber {
	return func(pod trace.Pod) func(string) string { return f.secrets.For(pod.UID) }
}

// Request describes a request, and learns from it.
func (f *Foreign) Request(pod trace.Pod, method string, req proto.Message) trace.CRICall {
	if req == nil {
		return trace.CRICall{Method: method}
	}
	req = f.shown(pod, req)
	return describeRequest(context.Background(), method, req, f.secrets.For(pod.UID))
}

// Reply adds a response to call; reply may be nil.
func (f *Foreign) Reply(pod trace.Pod, call *trace.CRICall, reply proto.Message, err error) {
	said := func(container, message string) string { return f.secrets.Said(pod.UID, container, message) }
	if reply == nil {
		describeReply(call, nil, err, nil, said)
		return
	}
	describeReply(call, reply, err, f.secrets.For(pod.UID), said)
}

// Readable renders a whole request.
func (f *Foreign) Readable(pod trace.Pod, req proto.Message) json.Marshaler {
	return Readable(f.shown(pod, req), f.secrets.For(pod.UID))
}

// Forget removes the values of a pod that is gone.
func (f *Foreign) Forget(pod trace.Pod) { f.secrets.Forget(pod.UID) }

// shown returns a request without the values of its variables.
func (f *Foreign) shown(pod trace.Pod, req proto.Message) proto.Message {
	r, ok := req.(*runtimeapi.CreateContainerRequest)
	if !ok || r.GetConfig() == nil {
		return req
	}
	envs := r.GetConfig().GetEnvs()
	values, blanked := make([]string, 0, len(envs)), make([]*runtimeapi.KeyValue, 0, len(envs))
	for _, kv := range envs {
		values = append(values, string(kv.GetValue()))
		blank := &runtimeapi.KeyValue{Key: kv.GetKey()}
		if len(kv.GetValue()) > 0 {
			blank.Value = []byte(redact.Mark)
		}
		blanked = append(blanked, blank)
	}
	f.secrets.Public(pod.UID, publicText(r))
	f.secrets.Learn(pod.UID, redact.Environment(r.GetConfig().GetMetadata().GetName()), values...)
	config := proto.CloneOf(r.GetConfig())
	config.Envs = blanked
	return &runtimeapi.CreateContainerRequest{PodSandboxId: r.GetPodSandboxId(), Config: config, SandboxConfig: r.GetSandboxConfig()}
}

// publicText returns the texts that everyone who can see the pod knows: names, labels and its log path.
func publicText(r *runtimeapi.CreateContainerRequest) func() string {
	s, c := r.GetSandboxConfig(), r.GetConfig()
	var b strings.Builder
	m := s.GetMetadata()
	for _, text := range []string{m.GetNamespace(), m.GetName(), m.GetUid(), s.GetHostname(), s.GetLogDirectory(), c.GetMetadata().GetName(), c.GetLogPath(), c.GetImage().GetUserSpecifiedImage()} {
		b.WriteString(text + "\n")
	}
	for _, labels := range []map[string]string{s.GetLabels(), c.GetLabels()} {
		for k, v := range labels {
			b.WriteString(k + "\n" + v + "\n")
		}
	}
	text := b.String()
	return func() string { return text }
}
