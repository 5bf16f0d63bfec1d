//! Applies edits, for tests of this crate and of the program, which import the names below.

use super::{Edit, Json, Step, is_item, key_of};

/// Applies `edits` to `old`; `None` if they do not fit. Added items are at their places in `new`.
pub(super) fn apply(old: &Json, edits: &[Edit], new: &Json) -> Option<Json> {
    let mut tree = old.clone();
    // Removals and reorderings first, so that the places of added items are those of the new list.
    let turn = |edit: &Edit| match edit.path.0.last() {
        Some(Step::Order(_)) => 1,
        Some(Step::Item(_)) if edit.old.is_none() => 2,
        _ => 0,
    };
    for now in 0..3 {
        for edit in edits.iter().filter(|edit| turn(edit) == now) {
            set(&mut tree, edit.path.steps(), edit, new)?;
        }
    }
    Some(tree)
}

/// Applies an edit to the part of the tree at which `steps` of its path are left; `new` is that part of the
/// new tree.
fn set(tree: &mut Json, steps: &[Step], edit: &Edit, new: &Json) -> Option<()> {
    let Some((step, rest)) = steps.split_first() else {
        // An edit of the whole tree, or the end of the path.
        *tree = edit.new.clone()?;
        return Some(());
    };

    match (step, tree) {
        (Step::Key(key), Json::Object(map)) if rest.is_empty() => {
            match &edit.new {
                Some(new) => map.insert(key.clone(), new.clone()),
                None => map.shift_remove(key),
            };
            Some(())
        }
        (Step::Key(key), Json::Object(map)) => set(map.get_mut(key)?, rest, edit, new.get(key)?),
        (Step::Index(index), Json::Array(items)) => {
            set(items.get_mut(*index)?, rest, edit, new.get(*index)?)
        }
        (Step::Order(fields), Json::Array(items)) => {
            let wanted = edit.new.as_ref()?.as_array()?;
            let place = |item: &Json| {
                let label = Step::Item(key_of(item, fields)?).label();
                wanted.iter().position(|name| name.as_str() == Some(label.as_str()))
            };
            // Items that are added later are inserted at their own index.
            items.sort_by_cached_key(|item| place(item).unwrap_or(usize::MAX));
            Some(())
        }
        (Step::Item(name), Json::Array(items)) => {
            let known = items.iter().position(|item| is_item(item, name));
            if let Some(at) = known.filter(|_| rest.is_empty() && edit.new.is_none()) {
                items.remove(at);
                return Some(());
            }
            let place = new.as_array()?.iter().position(|item| is_item(item, name))?;
            match known {
                Some(at) => set(items.get_mut(at)?, rest, edit, new.get(place)?),
                None => {
                    items.insert(place.min(items.len()), edit.new.clone()?);
                    Some(())
                }
            }
        }
        _ => None,
    }
}
