package podsource

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Op is the change of pods in their source.
type Op = trace.SourceOp

// The operations.
const (
	// OpAdd is for pods new to their source.
	OpAdd = trace.OpAdd
	// OpUpdate is for pods whose spec or metadata changed.
	OpUpdate = trace.OpUpdate
	// OpRemove is for pods that are no longer in their source.
	OpRemove = trace.OpRemove
	// OpReconcile is for pods whose source has another status, or only another version. They need no sync: it is for
	// the store and the status manager.
	OpReconcile = trace.OpReconcile
	// OpDelete is for pods that must terminate gracefully: their deletionTimestamp is set. A new pod that has it is
	// nevertheless an OpAdd.
	OpDelete = trace.OpDelete
)

// Update is one operation on pods of one source. The pods belong to the receiver.
type Update struct {
	Op     Op
	Source string
	// Pods may be empty: then Op is OpAdd, and an empty source has reported.
	Pods []*v1.Pod
	// Span is the SET that delivered it: the cause of what the receiver does.
	Span trace.Span
	// AllSources says that with this update every source has reported at least once. Updates
	// come in order, so a receiver that has seen it may act on a pod's absence.
	AllSources bool
}

// Source delivers desired pods.
type Source interface {
	// Name is the value of the pods' source annotation. It is unique within a mux.
	Name() string
	// Run calls set with the complete set, first soon and then on every change, from one goroutine, until ctx ends;
	// then it returns nil.
	Run(ctx context.Context, set func(Set)) error
}

// Set is the complete set of a source.
type Set struct {
	// Pods never change after they are delivered. Where possible, an unchanged pod is the same pointer.
	Pods []*v1.Pod
	// Same are pods that are not in Pods, because another one has their full name.
	Same []*v1.Pod
	// Paths has the manifests of pods, if they have any.
	Paths map[types.UID]string
	// Span is the SET: the cause of Source events and of everything that follows.
	Span trace.Span
}
