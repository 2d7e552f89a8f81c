package step

import (
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// verbs are the actions of an agent's plans. An action's ID is its verb, or begins with it and a space.
var verbs = []string{
	string(trace.VerbCgroup), string(trace.VerbDirs), string(trace.VerbVolumes), string(trace.VerbClaims), string(trace.VerbSandbox), string(trace.VerbImage),
	string(trace.VerbCreate), string(trace.VerbStart), string(trace.VerbPostStart), string(trace.VerbResize), string(trace.VerbResizePod),
	string(trace.VerbPreStop), string(trace.VerbKill), string(trace.VerbStopSandbox), string(trace.VerbReleaseClaims), string(trace.VerbRemove), string(trace.VerbUnmount),
	string(trace.VerbRemoveSandbox), string(trace.VerbRemoveCgroup), string(trace.VerbRemoveDirs),
}

// stepNames returns the verbs and the methods of the CRI.
func stepNames() []string {
	out := slices.Clone(verbs)
	for _, m := range slices.Concat(runtimeapi.RuntimeService_ServiceDesc.Methods, runtimeapi.ImageService_ServiceDesc.Methods) {
		out = append(out, m.MethodName)
	}
	return out
}

// isStep reports whether an action or a call can have the name in a breakpoint. Of a pattern that can match an ID, only
// the part before its first * is checked: the text after a verb in an ID is the pod's.
func isStep(what string) bool {
	meta := strings.IndexAny(what, `*?[\`)
	verb, of, _ := strings.Cut(what, " ")
	begin, open := what, false
	if meta >= 0 {
		begin, open = what[:meta], strings.ContainsAny(what[meta:], "* ")
	}
	for _, name := range stepNames() {
		switch {
		case match(what, name):
			return true
		case open && strings.HasPrefix(name, begin):
			return true
		case slices.Contains(verbs, name) && (of != "" && verb == name || open && strings.HasPrefix(begin, name+" ")):
			return true
		}
	}
	return false
}
