// Compares a type of ours with the official one. `Same` is true when a value of
// each is a value of the other and both name the same fields; optional fields
// that one side lacks would pass the first half unseen.

export type Mutual<Ours, Official> = [Ours] extends [Official]
  ? [Official] extends [Ours]
    ? true
    : "an official value does not fit our type"
  : "a value of ours does not fit the official type";

type Distribute<T> = T extends unknown ? keyof { [K in keyof T as Named<K>]: 1 } : never;
type Named<K> = string extends K ? never : number extends K ? never : K;

export type SameFields<Ours, Official> = [Distribute<Ours>] extends [Distribute<Official>]
  ? [Distribute<Official>] extends [Distribute<Ours>]
    ? true
    : { "we lack": Exclude<Distribute<Official>, Distribute<Ours>> }
  : { "we add": Exclude<Distribute<Ours>, Distribute<Official>> };

export type Same<Ours, Official> =
  Mutual<Ours, Official> extends true ? SameFields<Ours, Official> : Mutual<Ours, Official>;

/** Takes nothing but `true`: `True<Same<…>>` is one row of a table, with a complaint of its own. */
export type True<Fact extends true> = Fact;
