package proxy

import "context"

// Gate may hold the calls of a pod.
type Gate interface{}

func (c *call) before(context.Context) error { return nil }

func (c *call) after(context.Context, error) (again bool) { return false }
