// Who asks for memory: the page names the same functions as the tool does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllocator } from '../../web/src/sites.js';

test('functions that allocate for others are known by their names, and no others', () => {
    const yes = [
        'malloc',
        'ngx_palloc',
        'PyArray_malloc',
        'MemAlloc',
        'allocate',
        'ns::Pool<int>::allocate<8>(unsigned long)',
        'g_malloc0_n',
        'my_malloc.part.0',
        'strdup',
    ];
    const no = ['dealloc', 'mallocate', 'sqlite3BtreeInsert', 'main', 'std::string make(int)', ''];
    assert.deepEqual(yes.filter((name) => !isAllocator(name)), []);
    assert.deepEqual(no.filter(isAllocator), []);
});
