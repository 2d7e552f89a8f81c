package say

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Behind returns the holders that a wait is behind: "behind shop/db (sandbox, 3.20s, overstays), shop/web (create,
// 0.40s)". More is the time since the wait's record. It is empty if there are none.
func Behind(holders []trace.Holder, more time.Duration) string {
	if len(holders) == 0 {
		return ""
	}
	var all []string
	for _, h := range holders {
		over := ""
		if h.Overstays {
			over = ", overstays"
		}
		who := h.Pod.String()
		if who == "" {
			who = "the node"
		}
		all = append(all, fmt.Sprintf("%s (%s, %s%s)", who, h.Call, human.Duration(h.For+more), over))
	}
	return noise.Of(human.Line("behind " + strings.Join(all, ", ")))
}
