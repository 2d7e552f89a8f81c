package trace

import (
	"strconv"
	"strings"
)

// Failure returns an event's error, "" if there is none. For a call that failed without an error text, it returns the
// code.
func Failure(e Event) string {
	switch e := e.(type) {
	case *CRICall:
		if e.Err == "" && e.Code != "" && e.Code != "OK" {
			return e.Code
		}
		return e.Err
	case *CSICall:
		if e.Err == "" && e.Code != "" && e.Code != "OK" {
			return e.Code
		}
		return e.Err
	case *APICall:
		if e.Err == "" && e.Code >= 400 {
			return "status " + strconv.Itoa(e.Code)
		}
		return e.Err
	case *ServerRequest:
		if e.Code >= 400 && e.Code != CodeCanceled {
			return strings.TrimSpace("status " + strconv.Itoa(e.Code) + " " + e.Reason)
		}
		return ""
	case *NodeStatus:
		return e.Err
	case *StatusPatch:
		return e.Err
	case *Sync:
		return e.Err
	case *Action:
		return e.Err
	case *ImagePull:
		return e.Err
	case *Volume:
		return e.Err
	case *CgroupOp:
		return e.Err
	case *Eviction:
		return e.Err
	case *DevicePlugin:
		return e.Err
	case *DeviceAllocation:
		return e.Err
	case *DRAPlugin:
		return e.Err
	case *ResourceClaim:
		return e.Err
	case *ClaimDescribed:
		return e.Err
	case *Allocation:
		return e.Err
	case *GC:
		return e.Err
	case *SpanExport:
		return e.Err
	case *PLEGRelist:
		return e.Err
	case *RuntimeSpan:
		return e.Err
	case *SourceError:
		return e.Message
	}
	return ""
}
