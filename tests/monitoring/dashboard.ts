// SPDX-License-Identifier: Apache-2.0
// A dashboard as a JSON file, by Grafana's own types. They are stricter than Grafana, which fills in what is missing in
// the dashboard and in the options of a panel, but not in what a panel asks of its data source.
import type { Dashboard, FieldConfig, FieldConfigSource, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";
import type { Options as StatOptions } from "@grafana/grafana-foundation-sdk/stat";
import type { FieldConfig as Curves, Options as TimeseriesOptions } from "@grafana/grafana-foundation-sdk/timeseries";

// JSON has the values of an enumeration, not its members.
type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Some<T> = T extends object ? { [K in keyof T]?: Some<T[K]> } : T;

type Fields<Custom> = Omit<FieldConfigSource, "defaults"> & {
    defaults: Omit<FieldConfig, "custom"> & { custom?: Some<Custom> };
};
type Of<Type, Options, Custom> = Omit<Panel, "type" | "targets" | "options" | "fieldConfig"> & {
    type: Type;
    targets: Omit<Dataquery, "_implementsDataqueryVariant">[];
    options?: Some<Options>;
    fieldConfig: Fields<Custom>;
};
export type File = Json<
    Partial<Omit<Dashboard, "panels">> & {
        panels: (Of<"stat", StatOptions, never> | Of<"timeseries", TimeseriesOptions, Curves>)[];
    }
>;

// What these types have to refuse; tsc complains of a line that has no fault.
type Targets = File["panels"][number]["targets"];
// @ts-expect-error the expression of a query is its member `expr`
export const query: Targets = [{ refId: "A", expression: "up" }];
type Stat = Extract<File["panels"][number], { type: "stat" }>;
// @ts-expect-error not one of the modes
export const mode: Stat["options"] = { graphMode: "sparkle" };
// @ts-expect-error dashboards have no such member
export const member: Partial<File> = { title: "bayesd", panel: [] };
