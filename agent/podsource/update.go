package podsource

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Op is what became of pods in their source.
type Op = trace.SourceOp

// The operations.
const (
	// OpAdd is for pods new to their source.
	OpAdd = trace.OpAdd
	// OpUpdate is for pods whose spec or metadata changed.
	OpUpdate = trace.OpUpdate
	// OpRemove is for pods that are no longer in their source.
	OpRemove = trace.OpRemove
	// OpReconcile is for pods of which the source has another status, or only another version. There is nothing to sync: it is for the store
	// and the status manager.
	OpReconcile = trace.OpReconcile
	// OpDelete is for pods that are to end gracefully: their deletionTimestamp is set. One that has it
	// when it is first seen comes as OpAdd all the same.
	OpDelete = trace.OpDelete
)

// Update is one operation on pods of one source. The pods belong to the receiver.
type Update struct {
	Op     Op
	Source string
	// Pods may be empty: then Op is OpAdd, and an empty source has reported.
	Pods []*v1.Pod
	// Span is the SET that brought it: the cause of whatever the receiver does now.
	Span trace.Span
	// AllSources says that with this update every source has reported at least once. Updates
	// come in order, so a receiver that has seen it may act on a pod's absence.
	AllSources bool
}

// Source delivers desired pods.
type Source interface {
	// Name is what the pods' source annotation says. It is unique within a mux.
	Name() string
	// Run calls set with all that the source holds, at first soon and again on every change, from
	// one goroutine, until ctx ends; then it returns nil.
	Run(ctx context.Context, set func(Set)) error
}

// Set is the complete set of a source.
type Set struct {
	// Pods once handed over never change; an unchanged pod is handed over as the same pointer
	// where that is cheap.
	Pods []*v1.Pod
	// Paths has the manifests of pods, if they have any.
	Paths map[types.UID]string
	// Span is the SET that Source events and whatever follows have as their cause.
	Span trace.Span
}
