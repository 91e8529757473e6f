// SPDX-License-Identifier: Apache-2.0
// What the user may do: nothing is offered that the daemon would refuse.

import {get} from "./api.js";

const ROLES = ["classify", "train", "admin"];
let role = "admin"; // until it is known

// Asks the daemon for the role of the token.
export async function ask() {
  ({role} = await get("v1/access"));
}

// Whether the role reaches what needs the role `needed`.
export const may = (needed) => ROLES.indexOf(role) >= ROLES.indexOf(needed);
