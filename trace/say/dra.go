package say

import (
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// DRAPlugin describes a change of a plugin of a DRA driver.
func DRAPlugin(e *trace.DRAPlugin) string {
	who := "DRA driver " + e.Driver
	switch e.Op {
	case trace.DRARegistered:
		return who + " registered: " + words(e.Service, e.Health, "at "+e.Socket)
	case trace.DRARefused:
		return join(who+" was refused", e.Err)
	case trace.DRAConnected:
		return who + " is connected: " + e.Socket
	case trace.DRADisconnected:
		return join(who+" is disconnected: "+e.Socket, e.Err)
	case trace.DRAGone:
		return who + " is gone: " + e.Socket
	case trace.DRAWiped:
		what, why := "ResourceSlices of DRA driver "+e.Driver, "it cannot be used"
		if e.Driver == "" {
			what, why = "ResourceSlices of this node", "no DRA driver has registered yet"
		}
		if e.Err != "" {
			return join(what+" could not be deleted", e.Err)
		}
		return what + " were deleted: " + why
	}
	return words(who, string(e.Op))
}

// ResourceClaim describes what became of a claim.
func ResourceClaim(e *trace.ResourceClaim) string {
	what := "ResourceClaim " + e.Namespace + "/" + e.Name
	by := ""
	if e.Driver != "" && e.Fault != trace.FaultDriverMissing { // its error names the driver
		by = " by DRA driver " + e.Driver
	}
	switch e.Op {
	case trace.ClaimPrepared:
		return what + " prepared" + by + prepared(e) + took(e)
	case trace.ClaimUnprepared:
		return what + " unprepared" + by + took(e)
	case trace.ClaimNotPrepared:
		return join(what+" could not be prepared"+by+took(e), e.Err)
	case trace.ClaimNotReleased:
		return join(what+" could not be unprepared"+by+took(e), e.Err)
	case trace.ClaimSkipped:
		return what + ": DRA driver " + e.Driver + " need not be called (" + e.Method + ")"
	case trace.ClaimShared:
		return what + " is prepared already, for another pod"
	case trace.ClaimStillInUse:
		return what + " is still used by another pod"
	}
	return words(what, string(e.Op), e.Driver)
}

// prepared lists the devices.
func prepared(e *trace.ResourceClaim) string {
	if len(e.Devices) == 0 {
		return ""
	}
	text := ": " + strings.Join(e.Devices, ", ")
	if more := e.Count - len(e.Devices); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// took says how long the driver's call took.
func took(e *trace.ResourceClaim) string {
	switch {
	case e.Took <= 0:
		return ""
	case e.Batch > 1:
		return fmt.Sprintf(" (the driver took %s for %d claims)", human.Duration(e.Took), e.Batch)
	}
	return " (the driver took " + human.Duration(e.Took) + ")"
}

// ClaimState describes the state of a claim in words.
func ClaimState(s trace.ClaimState) string {
	switch s {
	case trace.ClaimRestored:
		return "prepared by an earlier agent"
	case trace.ClaimPreparing:
		return "being prepared"
	case trace.ClaimFailed:
		return "not prepared"
	case trace.ClaimUnpreparing:
		return "being unprepared"
	case trace.ClaimStuck:
		return "not unprepared"
	case trace.ClaimGone:
		return "not used any more"
	case trace.ClaimListed:
		return "listed by the kubelet; what its drivers did is not known"
	case trace.ClaimReady:
	}
	return string(s)
}
