package pods

import (
	"reflect"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

func same(a, b trace.PodStatus) bool { return reflect.DeepEqual(a, b) }

// statusRecord returns the record of a status without containers.
func statusRecord(st v1.PodStatus, ip string) trace.PodStatus {
	return trace.PodStatus{Phase: trace.PodPhase(st.Phase), Reason: st.Reason, Message: st.Message, IP: ip}
}
