package trace

// Change is one way in which an object differs from what the API server has of it.
type Change struct {
	// What is what sort of thing differs, Name which one: a condition's type, a container, a resource, a field of the status.
	What ChangeKind `json:"what"`
	Name string     `json:"name,omitempty"`
	// Field is what differs of a container: ready, restarts, or details of which nothing more is said. Left out for its state.
	Field string `json:"field,omitempty"`
	// From and To are the values: of a condition True, False or Unknown, of a container's state waiting, running or terminated. From is
	// left out for what is new, To for what is gone; both are left out where values would say nothing to people.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// FromReason and Reason are Kubernetes' words for why these are the values, FromCode and Code exit codes of containers.
	FromReason string `json:"from_reason,omitempty"`
	Reason     string `json:"reason,omitempty"`
	FromCode   int32  `json:"from_code,omitempty"`
	Code       int32  `json:"code,omitempty"`
	// Message says more, for people: of a condition that has the same value for another reason.
	Message string `json:"message,omitempty" scrub:"text"`
}

// ChangeKind says what sort of thing differs.
type ChangeKind string

// The kinds of change.
const (
	ChangeCondition   ChangeKind = "condition"           // a condition of the pod or node
	ChangeContainer   ChangeKind = "container"           // a container's status
	ChangeInit        ChangeKind = "init-container"      // an init container's status
	ChangeEphemeral   ChangeKind = "ephemeral-container" // an ephemeral container's status
	ChangeCapacity    ChangeKind = "capacity"            // a resource that the node has
	ChangeAllocatable ChangeKind = "allocatable"         // what of a resource is for pods
	ChangeField       ChangeKind = "field"               // another field
	ChangeOther       ChangeKind = "other"               // of a recording of the first schema: what its text says
)

// Sets reports whether the change gives a condition the status, which it did not have before.
func (e *Change) Sets(condition, status string) bool {
	return e.What == ChangeCondition && e.Name == condition && e.To == status && e.From != status
}
