// views - what can be looked at; each is { id, name, View }, made when it is first shown.

import { Change } from './change.js';
import { Flame } from './flame.js';
import { Leaks } from './leaks.js';
import { Processes } from './processes.js';
import { explains, Resident } from './resident.js';
import { Run } from './run.js';
import { Source } from './source.js';
import { Table } from './table.js';
import { hasTensors, Tensors } from './tensors.js';

/** Those that have something to show, in the order of their keys. */
export function viewsOf({ model, base, measures }) {
    const stacks = measures.length > 0;
    return [
        { id: 'change', name: 'Change', View: Change, when: Boolean(base) && stacks },
        { id: 'flame', name: 'Flame', View: Flame, when: stacks },
        { id: 'table', name: 'Table', View: Table, when: stacks },
        { id: 'source', name: 'Source', View: Source, when: stacks },
        { id: 'leaks', name: 'Leaks', View: Leaks, when: model.has.heap },
        { id: 'tensors', name: 'Tensors', View: Tensors, when: hasTensors(model) },
        { id: 'processes', name: 'Processes', View: Processes, when: true },
        { id: 'resident', name: 'RSS explained', View: Resident, when: model.ofHost && explains(model) },
        { id: 'run', name: 'Run', View: Run, when: true },
    ].filter((view) => view.when);
}
