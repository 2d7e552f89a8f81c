package events

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"

	"github.com/kubeloupe/kubeloupe/trace"
)

// component is the reporting component, which tools match.
const component = "kubelet"

// maxMessage limits an event's message, in bytes. Containers, runtimes and registries write parts of it; a thousand events may wait, and
// the correlator keeps ten messages of each of 512 kinds of events.
const maxMessage = 4 << 10

// event returns the API object. Events about objects without a namespace go to the default one.
func (r *Recorder) event(ref v1.ObjectReference, eventType, reason, message string) *v1.Event {
	now := metav1.NewTime(time.Now())
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: util.GenerateEventName(ref.Name, now.UnixNano()), Namespace: namespace},
		InvolvedObject: ref,
		Type:           eventType, Reason: reason, Message: trace.Clip(message, maxMessage),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source:              v1.EventSource{Component: component, Host: r.cfg.Node},
		ReportingController: component, ReportingInstance: r.cfg.Node,
	}
}
