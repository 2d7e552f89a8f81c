package say

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Changes returns the differences of an object: "phase Pending → Running, Ready False → True". More is how many changes
// are not listed.
func Changes(all []trace.Change, more int) string {
	return noise.Of(strings.Join(ChangeList(all, more), ", "))
}

// ChangeList returns each difference separately.
func ChangeList(all []trace.Change, more int) []string {
	var out []string
	for i := range all {
		out = append(out, Change(&all[i]))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return out
}

// Change returns one difference: "Ready False → True (KubeletReady)".
func Change(c *trace.Change) string { return noise.Of(change(c)) }

func change(c *trace.Change) string {
	what := c.Name
	switch c.What {
	case trace.ChangeInit:
		what = "init " + c.Name
	case trace.ChangeEphemeral:
		what = "ephemeral " + c.Name
	case trace.ChangeCapacity, trace.ChangeAllocatable:
		what = strings.TrimSpace(string(c.What) + " " + c.Name)
	case trace.ChangeOther:
		return c.Message
	case trace.ChangeCondition:
		if c.From == c.To && c.Message != "" {
			return what + ": " + c.Message
		}
	case trace.ChangeContainer, trace.ChangeField:
	}
	if c.Field != "" {
		what += " " + c.Field
	}
	from, to := changed(c.From, c.FromReason, c.FromCode), changed(c.To, c.Reason, c.Code)
	switch {
	case from == "" && to == "":
		return what
	case from == "":
		return what + " " + to
	case c.What == trace.ChangeCapacity || c.What == trace.ChangeAllocatable:
		to = cmp.Or(to, "none")
	}
	return what + " " + from + " → " + cmp.Or(to, "-")
}

// changed returns a value with its reason.
func changed(value, reason string, code int32) string {
	switch {
	case value == "" || reason == "" && code == 0:
		return value
	case value == "terminated":
		return fmt.Sprintf("%s (%s, %d)", value, reason, code)
	}
	return value + " (" + reason + ")"
}
