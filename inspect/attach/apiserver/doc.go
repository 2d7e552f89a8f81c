// Package apiserver watches the pods of one node, and the Events about them, through the API server.
//
// It owns the client and its limits: few requests, answers of bounded size, watches that begin again where they ended. It only reads pods and
// Events. Packages podobject and kubeevent say what is taken of them. Whoever may create Events and pods writes what it reads. [API.Pods] and
// [API.Events] run in goroutines of their callers; it publishes nothing.
package apiserver
