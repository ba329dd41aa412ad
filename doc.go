// Package sakur4 is the memory and context layer of a long-running agent.
package sakur4
