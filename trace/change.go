package trace

// Change is one difference between an object and the version that the API server has.
type Change struct {
	// What is the kind of the difference, Name what differs: a condition's type, a container, a resource, a field of the status.
	What ChangeKind `json:"what"`
	Name string     `json:"name,omitempty"`
	// Field is the field of a container that differs: ready, restarts, or details, which is not specified further. Omitted for its
	// state.
	Field string `json:"field,omitempty"`
	// From and To are the values: True, False or Unknown for a condition; waiting, running or terminated for a container's state.
	// From is omitted if the value is new, To if it was removed, and both if the values are of no use for people.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// FromReason and Reason are Kubernetes' reasons for the values, FromCode and Code the exit codes of containers.
	FromReason string `json:"from_reason,omitempty"`
	Reason     string `json:"reason,omitempty"`
	FromCode   int32  `json:"from_code,omitempty"`
	Code       int32  `json:"code,omitempty"`
	// Message is a further text for people, for a condition whose value is the same but whose reason differs.
	Message string `json:"message,omitempty" scrub:"text"`
}

// ChangeKind is the kind of a difference.
type ChangeKind string

// The kinds of change.
const (
	ChangeCondition   ChangeKind = "condition"           // a condition of the pod or node
	ChangeContainer   ChangeKind = "container"           // a container's status
	ChangeInit        ChangeKind = "init-container"      // an init container's status
	ChangeEphemeral   ChangeKind = "ephemeral-container" // an ephemeral container's status
	ChangeCapacity    ChangeKind = "capacity"            // the total amount of a resource
	ChangeAllocatable ChangeKind = "allocatable"         // the amount of a resource that pods can request
	ChangeField       ChangeKind = "field"               // another field
	ChangeOther       ChangeKind = "other"               // only in recordings of the first schema: the text of the change
)

// Sets reports whether the change sets the condition to a status that it did not have before.
func (e *Change) Sets(condition, status string) bool {
	return e.What == ChangeCondition && e.Name == condition && e.To == status && e.From != status
}
