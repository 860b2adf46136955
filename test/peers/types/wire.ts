// The wire types that mcp-raw.ts exports under a name of the specification are
// the specification's own. A test sees to it that no such name is missing here;
// one that is meant to differ stands as a comment that says why:
//
//   // Name: differs, because …

import type * as Ours from "../../../mcp-raw.ts";
import type * as Spec from "../.generated/spec-2026-07-28.ts";
import type { Mutual, Same, True } from "./mutual.ts";

export type RequestId = True<Same<Ours.RequestId, Spec.RequestId>>;
export type JSONRPCNotification = True<Same<Ours.JSONRPCNotification, Spec.JSONRPCNotification>>;
export type JSONRPCRequest = True<Same<Ours.JSONRPCRequest, Spec.JSONRPCRequest>>;
export type JSONRPCResultResponse = True<Same<Ours.JSONRPCResultResponse, Spec.JSONRPCResultResponse>>;
export type JSONRPCErrorResponse = True<Same<Ours.JSONRPCErrorResponse, Spec.JSONRPCErrorResponse>>;
export type JSONRPCResponse = True<Same<Ours.JSONRPCResponse, Spec.JSONRPCResponse>>;
export type JSONRPCMessage = True<Same<Ours.JSONRPCMessage, Spec.JSONRPCMessage>>;
export type Result = True<Same<Ours.Result, Spec.Result>>;
export type Implementation = True<Same<Ours.Implementation, Spec.Implementation>>;
export type Icon = True<Same<Ours.Icon, Spec.Icon>>;
export type JSONObject = True<Same<Ours.JSONObject, Spec.JSONObject>>;
export type JSONValue = True<Same<Ours.JSONValue, Spec.JSONValue>>;
export type RequestParams = True<Same<Ours.RequestParams, Spec.RequestParams>>;
export type DiscoverResult = True<Same<Ours.DiscoverResult, Spec.DiscoverResult>>;
export type Annotations = True<Same<Ours.Annotations, Spec.Annotations>>;
export type TextContent = True<Same<Ours.TextContent, Spec.TextContent>>;
export type ImageContent = True<Same<Ours.ImageContent, Spec.ImageContent>>;
export type AudioContent = True<Same<Ours.AudioContent, Spec.AudioContent>>;
export type Resource = True<Same<Ours.Resource, Spec.Resource>>;
export type ResourceLink = True<Same<Ours.ResourceLink, Spec.ResourceLink>>;
export type ResourceContents = True<Same<Ours.ResourceContents, Spec.ResourceContents>>;
export type TextResourceContents = True<Same<Ours.TextResourceContents, Spec.TextResourceContents>>;
export type BlobResourceContents = True<Same<Ours.BlobResourceContents, Spec.BlobResourceContents>>;
export type EmbeddedResource = True<Same<Ours.EmbeddedResource, Spec.EmbeddedResource>>;
export type ContentBlock = True<Same<Ours.ContentBlock, Spec.ContentBlock>>;
export type CallToolResult = True<Same<Ours.CallToolResult, Spec.CallToolResult>>;
export type ListResourcesResult = True<Same<Ours.ListResourcesResult, Spec.ListResourcesResult>>;
export type ReadResourceResult = True<Same<Ours.ReadResourceResult, Spec.ReadResourceResult>>;
export type ToolAnnotations = True<Same<Ours.ToolAnnotations, Spec.ToolAnnotations>>;
export type Tool = True<Same<Ours.Tool, Spec.Tool>>;
export type ListToolsResult = True<Same<Ours.ListToolsResult, Spec.ListToolsResult>>;

// Each of these is filled by several chapters; it fits, and lacks what no chapter serves.
export type ClientCapabilities = True<Mutual<Ours.ClientCapabilities, Spec.ClientCapabilities>>;
export type ServerCapabilities = True<Mutual<Ours.ServerCapabilities, Spec.ServerCapabilities>>;
export type RequestMetaObject = True<Mutual<Ours.RequestMetaObject, Spec.RequestMetaObject>>;
export type CallToolRequestParams = True<Mutual<Ours.CallToolRequestParams, Spec.CallToolRequestParams>>;
