package step

import (
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// verbs are the actions of an agent's plans. An action's id is its verb, or begins with it and a space.
var verbs = []string{
	"cgroup", "dirs", "volumes", "sandbox", "image", "create", "start", "post-start", "resize", "resize-pod",
	"pre-stop", "kill", "stop-sandbox", "remove", "unmount", "remove-sandbox", "remove-cgroup", "remove-dirs",
}

// stepNames are the verbs and the methods of the CRI.
func stepNames() []string {
	out := slices.Clone(verbs)
	for _, m := range slices.Concat(runtimeapi.RuntimeService_ServiceDesc.Methods, runtimeapi.ImageService_ServiceDesc.Methods) {
		out = append(out, m.MethodName)
	}
	return out
}

// isStep reports whether there can be an action or a call of a name that a breakpoint has. Of a pattern that can match an id, the part
// before its first * is looked at: what follows a verb in an id is the pod's.
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
